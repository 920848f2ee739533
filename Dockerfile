# Two images hold Node, nft and Squall, no shell and no package manager: --target sidecar is what pods
# get, and full, the default, has all commands. They build for linux/amd64 and linux/arm64, and need no
# secrets.
ARG BASE=node:24-bookworm-slim

# What is compiled is the same for every platform, so it is compiled on the builder's own.
FROM --platform=$BUILDPLATFORM ${BASE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY packages/experiments/package.json packages/experiments/
COPY packages/kubernetes/package.json packages/kubernetes/
COPY packages/tools/package.json packages/tools/
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/build.mjs scripts/image-sbom.mjs scripts/
COPY scripts/lib/build-inputs.mjs scripts/lib/bundle.mjs scripts/lib/compile-schemas.mjs \
  scripts/lib/notices.mjs scripts/lib/put-in-place.mjs scripts/lib/shared-schema.mjs scripts/lib/
COPY src src
COPY packages packages
# Whether types are right was checked before.
RUN node scripts/build.mjs --no-check \
  && chmod 755 dist/cli/main.js \
  && node scripts/image-sbom.mjs >/sbom.cdx.json \
  && mkdir sidecar \
  && cp -R --parents $(sed 's|^|dist/|' build/js/sidecar-files.txt) dist/admin sidecar

FROM --platform=$BUILDPLATFORM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --omit=peer --ignore-scripts \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -delete \
  && rm -rf node_modules/.bin node_modules/.package-lock.json

# Node's compile cache is for one version of Node, one platform and one user, whose id is in its name.
FROM ${BASE} AS program
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build /build/dist dist
COPY deploy/image/fill-compile-cache.sh /
RUN mkdir compile-cache && chown 65532:65532 compile-cache
USER 65532:65532
RUN NODE_COMPILE_CACHE=/app/compile-cache sh /fill-compile-cache.sh

FROM ${BASE} AS system
# A version to pin; the release script records the one that it built with.
ARG NFTABLES
RUN command -v nft >/dev/null \
  || { apt-get update && apt-get install -y --no-install-recommends nftables${NFTABLES:+=$NFTABLES}; }
COPY deploy/image/gather.sh /
RUN sh /gather.sh /system node nft env \
  && mkdir -p /system/etc /system/run/squall /system/tmp /system/usr/local/bin \
  && printf 'root:x:0:0::/:/\nsquall:x:65532:65532::/:/\n' >/system/etc/passwd \
  && printf 'root:x:0:\nsquall:x:65532:\n' >/system/etc/group \
  && printf 'hosts: files dns\n' >/system/etc/nsswitch.conf \
  && chmod 1777 /system/tmp \
  && chown 65532:65532 /system/run/squall \
  && ln -s /app/dist/cli/main.js /system/usr/local/bin/squall

FROM scratch AS sidecar
ARG VERSION=0.0.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Squall" \
  org.opencontainers.image.description="A sidecar that takes over a pod's MCP port and injects faults into selected calls" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.url="https://github.com/OWNER/squall" \
  org.opencontainers.image.source="https://github.com/OWNER/squall" \
  org.opencontainers.image.documentation="https://github.com/OWNER/squall/blob/main/docs/README.md" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}"
COPY --from=system /system/ /
COPY --from=build /sbom.cdx.json /usr/share/sbom/squall.cdx.json
COPY --from=dependencies /app/node_modules /app/node_modules
COPY --from=build /build/sidecar/dist /app/dist
COPY --from=program /app/compile-cache /app/compile-cache
COPY package.json LICENSE /app/
# What is new is garbage at once: a small space for it costs less memory, and less time as well.
# One arena for all threads, and what is free at its end goes back to the system.
ENV NODE_OPTIONS=--max-semi-space-size=2 \
  NODE_COMPILE_CACHE=/app/compile-cache \
  MALLOC_ARENA_MAX=1 \
  MALLOC_TRIM_THRESHOLD_=131072 \
  MALLOC_MMAP_THRESHOLD_=131072 \
  PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
WORKDIR /
USER 65532:65532
EXPOSE 15300 15390
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s \
  CMD ["squall", "wait-ready", "--ready-wait", "2s"]
ENTRYPOINT ["squall"]
CMD ["run"]

FROM sidecar AS full
COPY --from=build /build/dist /app/dist
