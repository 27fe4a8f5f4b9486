#!/bin/sh
# Fill a folder with all that the command needs to run there as in a root folder: image.sh COMMAND FOLDER
#
# COMMAND comes from `make static-command`. FOLDER gets it, the C library and its loader, descriptions of terminals for
# `leash top`, and, if the system has them, the certificates of public authorities.
set -eu

command=$1
folder=$2

install -D -s "$command" "$folder/usr/bin/leash"

# "libc.so.6 => /lib/... (0x...)", and the loader as "/lib64/... (0x...)"
ldd "$command" | grep -oE '/[^ ]+' | while read -r library; do
	install -D "$library" "$folder$library"
done

for database in /lib/terminfo /usr/share/terminfo; do
	[ ! -d "$database" ] || find "$database" -regex '.*/\(linux\|\(screen\|tmux\|xterm\)\(-256color\)?\)' \
		-exec cp -L --parents {} "$folder" \;
done
if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$folder/usr/lib/ssl/cert.pem"
fi
