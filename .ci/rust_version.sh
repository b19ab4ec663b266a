#!/bin/sh
# Whether the Rust that is found builds the crates: `rust_version.sh 1.94`. It says what to do if not.
set -eu
needed=$1
advice="ringview builds with Rust $needed or later: https://rustup.rs, or: rustup update stable"
found=$(rustc --version 2>/dev/null) || { echo "Rust is missing. $advice" >&2; exit 1; }
version=$(echo "$found" | cut -d ' ' -f 2)
command -v cargo > /dev/null || { echo "cargo is missing beside $found. $advice" >&2; exit 1; }
major=${version%%.*} rest=${version#*.}
minor=${rest%%.*}
wanted=${needed#*.}
if [ "$major" -lt "${needed%%.*}" ] || { [ "$major" -eq "${needed%%.*}" ] && [ "$minor" -lt "${wanted%%.*}" ]; }; then
  echo "Rust $version is too old. $advice" >&2
  exit 1
fi
