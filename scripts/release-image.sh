#!/bin/sh
# release-image.sh [--dry-run] IMAGE builds both images for all platforms, pushes them as IMAGE:VERSION and
# IMAGE:VERSION-sidecar with their provenance and lists of what is in them, and signs them. --dry-run
# prints the commands instead.
#
# The base is pinned by its digest, and the packages of the system by their versions: both are found out before
# the build and recorded in RECORD (build/release/image.env), from which the same image is built again.
# Needs docker with buildx, cosign, npm, git; COSIGN_KEY names a key, without it cosign signs by the identity of
# whoever runs this. BASE names another base, SIGN=no leaves the signature out.
set -eu

dry=
if [ "${1-}" = --dry-run ]; then
  dry=yes
  shift
fi
if [ "$#" != 1 ] || [ -z "$1" ]; then
  echo 'usage: release-image.sh [--dry-run] IMAGE, for example registry.example.com/tools/squall' >&2
  exit 2
fi
case ${1##*/} in
*[:@]*)
  echo "release-image.sh: $1 has a tag or a digest; the tag is the version of package.json" >&2
  exit 2
  ;;
esac

cd "$(dirname "$0")/.."
version=$(node -p 'require("./package.json").version')
revision=$(git rev-parse HEAD)
created=$(git log -1 --format=%ct)
base=${BASE:-$(sed -n 's/^ARG BASE=//p' Dockerfile)}
platforms=${PLATFORMS:-linux/amd64,linux/arm64}
record=${RECORD:-build/release/image.env}
metadata=$(dirname "$record")/metadata.json

run() {
  echo "+ $*"
  [ -n "$dry" ] || "$@"
}

# What changes an image is what is committed.
if [ -z "$dry" ] && [ -n "$(git status --porcelain)" ]; then
  echo 'release-image.sh: there are changes that are not committed' >&2
  exit 1
fi
if [ -z "$dry" ] && grep -q /OWNER/ package.json; then
  echo 'release-image.sh: the repository has no owner yet: run node scripts/set-repository.mjs OWNER/NAME' >&2
  exit 1
fi
mkdir -p "$(dirname "$record")"

run npm audit signatures

# A tag may point elsewhere tomorrow; a digest says which base it was.
nftables=${NFTABLES-}
if [ -f "$record" ] && [ "${PIN-}" = recorded ]; then
  # shellcheck source=/dev/null
  . "$record"
else
  case $base in
  *@sha256:*) ;;
  *)
    echo "+ docker buildx imagetools inspect $base --format {{.Manifest.Digest}}"
    if [ -n "$dry" ]; then
      digest='<digest>'
    else
      digest=$(docker buildx imagetools inspect "$base" --format '{{.Manifest.Digest}}')
      case $digest in sha256:*) ;; *)
        echo "release-image.sh: no digest of $base: $digest" >&2
        exit 1
        ;;
      esac
    fi
    base=$base@$digest
    ;;
  esac
  find='apt-get update >&2 && apt-cache policy nftables | sed -n "s/ *Candidate: //p"'
  echo "+ docker run --rm $base sh -c '$find'"
  if [ -n "$dry" ]; then nftables=${nftables:-'<version>'}; else
    nftables=${nftables:-$(docker run --rm "$base" sh -c "$find")}
    printf "base='%s'\nnftables='%s'\n" "$base" "$nftables" >"$record"
  fi
fi

# release TARGET TAG: builds, pushes and signs one of the images.
release() {
  run docker buildx build --platform "$platforms" --target "$1" \
    --build-arg "BASE=$base" --build-arg "NFTABLES=$nftables" \
    --build-arg "VERSION=$version" --build-arg "REVISION=$revision" \
    --build-arg "SOURCE_DATE_EPOCH=$created" \
    --provenance=mode=max --sbom=true --metadata-file "$metadata" \
    --tag "$image:$2" --push .
  # The tag is not what is signed: somebody may have moved it meanwhile.
  pushed='<digest>'
  if [ -z "$dry" ]; then
    pushed=$(node -p 'JSON.parse(fs.readFileSync(process.argv[1]))["containerimage.digest"]' "$metadata")
  fi
  if [ "${SIGN-}" != no ]; then
    if [ -n "${COSIGN_KEY-}" ]; then
      run cosign sign --yes --key "$COSIGN_KEY" "$image@$pushed"
    else
      run cosign sign --yes "$image@$pushed"
    fi
  fi
}

image=$1
release sidecar "$version-sidecar"
echo "released $image:$version-sidecar as $image@$pushed: set sidecar.image of the chart to $image@$pushed"
release full "$version"
echo "released $image:$version as $image@$pushed: set image.digest of the chart to $pushed"
