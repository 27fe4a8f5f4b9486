# What configure.ac asks more than once.

# LSH_ADD_FLAG(VARIABLE, FLAG)
# Append FLAG to VARIABLE if the compiler and the linker take it without a word.
AC_DEFUN([LSH_ADD_FLAG], [
	AC_MSG_CHECKING([whether $CC takes $2])
	lsh_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -Werror $2"
	AC_LINK_IFELSE([AC_LANG_PROGRAM()],
		[$1="$$1 $2"
		AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])])
	CFLAGS=$lsh_saved_CFLAGS
])

# LSH_MISSING(WHAT, DEBIAN-PACKAGE)
# Something is not there. All of it is told at once by LSH_REPORT_MISSING, so that nobody has to run configure five times.
AC_DEFUN([LSH_MISSING], [
	lsh_missing="$lsh_missing
  $1 (Debian package $2)"
	lsh_packages="$lsh_packages $2"
])

AC_DEFUN([LSH_REPORT_MISSING], [
	AS_IF([test -n "$lsh_packages"],
		[AC_MSG_ERROR([leash cannot be built here; missing:$lsh_missing
On Debian:  apt-get install$lsh_packages])])
])

# LSH_MODULE(VARIABLE, MODULE, WHAT, DEBIAN-PACKAGE)
# PKG_CHECK_MODULES whose failure is collected.
AC_DEFUN([LSH_MODULE], [
	PKG_CHECK_MODULES([$1], [$2], [], [LSH_MISSING([$3], [$4])])
])
