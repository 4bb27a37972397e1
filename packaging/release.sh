#!/bin/sh
# After goreleaser: packs the programs that it left in a folder into bundles, and
# writes server.json for the registry with their checksums beside them.
# Usage: packaging/release.sh VERSION [DIST]      VERSION without the v
set -eu
cd "$(dirname "$0")/.."
version=$1 dist=${2:-dist}
for program in "$dist"/trainmedic_*/trainmedic*; do
	IFS=_ read -r _ os arch _ <<-EOF
		$(basename "$(dirname "$program")")
	EOF
	packaging/bundle.sh "$program" "$version" "$os" "$arch" "$dist"
done
python3 - "$version" "$dist" <<'EOF'
import hashlib, json, pathlib, sys
version, dist = sys.argv[1], pathlib.Path(sys.argv[2])
server = json.loads(pathlib.Path("packaging/server.json").read_text())
server["version"] = version
server["packages"] = [{
    "registryType": "mcpb",
    "identifier": f"{server['repository']['url']}/releases/download/v{version}/{bundle.name}",
    "version": version,
    "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
    "transport": {"type": "stdio"},
} for bundle in sorted(dist.glob("*.mcpb"))]
(dist / "server.json").write_text(json.dumps(server, indent=2) + "\n")
EOF
echo "$dist/server.json"
