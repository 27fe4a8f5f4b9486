/* Fair locks keep the laws, and serve all threads of all processes in one order. */
#include "tests/contract/laws.h"

LAWS_OF({.name = "fair", .options = {LAW_OPTIONS(.fair = true), LAW_OPTIONS(.fair = true)}, .ordered = true});
