#!/bin/sh
# Writes the completions of three shells into DIRECTORY and, with help2man, a manual page for each command.
# Usage: manual.sh COMMAND DIRECTORY [HELP2MAN]
set -eu
rdmabench=$1 directory=$2 help2man=${3:-}
mkdir -p "$directory"
rm -f "$directory"/*.1
for shell in bash zsh fish; do
  "$rdmabench" completion $shell >"$directory/rdmabench.$shell"
done
[ -n "$help2man" ] || exit 0
version=$("$rdmabench" --version)
page() {  # NAME SUMMARY HELP_OPTION COMMAND_LINE
  "$help2man" --no-info --no-discard-stderr --source "$version" --version-string "${version#* }" \
    --help-option "$3" --name "$2" --output "$directory/$1.1" "$4"
  # One word for apropos(1), and no date of the day: the same sources give the same page.
  sed -i "s/^$4 \\\\- /$1 \\\\- /; s/^\.TH [^ ]* \"1\" \"[^\"]*\"/.TH $(echo "$1" | tr a-z A-Z) 1 \"\"/" "$directory/$1.1"
}
# A copy of this name, for help2man's synopsis and the shell's quoting of a folder with spaces.
link=$(mktemp -d)
trap 'rm -rf "$link"' EXIT
ln -s "$(realpath "$rdmabench")" "$link/rdmabench"
PATH=$link:$PATH
page rdmabench "measure RDMA fabrics" --help rdmabench
# A summary may take several lines.
rdmabench --help | awk '
  /^Subcommands:/ { inside = 1; next }
  inside && /^$/ { exit }
  inside && /^  [a-z]/ { if (line != "") print line; sub(/^ +/, ""); line = $0; next }
  inside { sub(/^ +/, ""); line = line " " $0 }
  END { print line }' | while read -r name summary; do
  option=--help
  rdmabench "$name" --help-all >/dev/null 2>&1 && option=--help-all
  page "rdmabench-$name" "$summary" "$option" "rdmabench $name"
done
