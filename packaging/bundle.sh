#!/bin/sh
# Packs a program into an .mcpb bundle for one platform, with the bundles' own
# tool, and prints its path.
# Usage: packaging/bundle.sh PROGRAM VERSION GOOS GOARCH FOLDER
set -eu
program=$1 version=$2 os=$3 arch=$4 out=$(cd "$5" && pwd)
cd "$(dirname "$0")"
mcpb=2.1.2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trainmedic/mcpb-$mcpb
if [ ! -x "$cache/node_modules/.bin/mcpb" ]; then
	mkdir -p "$cache"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error "@anthropic-ai/mcpb@$mcpb" >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/server"
name=trainmedic platform=$os
case $os in
windows) name=trainmedic.exe platform=win32 ;;
esac
cp "$program" "$work/server/$name"
chmod 755 "$work/server/$name"
cp ../LICENSE "$work/"
sed -e "s/\"version\": \"[^\"]*\"/\"version\": \"$version\"/" -e "s/\"linux\"/\"$platform\"/" -e "s|server/trainmedic\"|server/$name\"|" mcpb/manifest.json >"$work/manifest.json"
"$cache/node_modules/.bin/mcpb" validate "$work/manifest.json" >&2
file=$out/trainmedic-mcp_${version}_${os}_$arch.mcpb
"$cache/node_modules/.bin/mcpb" pack "$work" "$file" >&2
echo "$file"
