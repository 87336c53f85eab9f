#!/bin/sh
# Draws the pictures of docs/design.md from their text: docs/pictures/make.sh. Needs Graphviz (Debian package graphviz).
set -eu
cd "$(dirname "$0")"
for source in *.dot; do
  dot -Tsvg "$source" -o "${source%.dot}.svg"
done
