// The door for tests of bytes, messages and calls: upstreams, clients, and sidecars between them.
// The proxy and the SDKs are heavy: they are loaded when a test starts them.

/** Upstreams. */
export { startUpstream } from './wire/upstream.ts'
export { responding, type HttpApp } from './wire/http-app.ts'
export {
  type AppConnection,
  type AppExchange,
  type AppRequest,
  type RawApp,
  type RawAppOptions,
  type Script,
  afterReads,
  chunk,
  drained,
  response,
} from './wire/raw-app.ts'
export {
  type CallScript,
  type ScriptedServer,
  type Step,
  scriptedListener,
} from './wire/scripted-server.ts'
export { type Redirect, mounted, starlette } from './wire/mounted.ts'
export type { Collector, ExportedSpan } from './wire/servers/collector.ts'
export type { Everything } from './wire/servers/everything.ts'
export type { ModernServer } from './wire/servers/modern-server.ts'
export type { SessionHost } from './wire/servers/session-host.ts'
export type { SessionServer } from './wire/servers/session-server.ts'

/** Sidecars in front of them, and their metrics. */
export {
  type RuledOptions,
  type RuledSidecar,
  type RunningSidecar,
  type ScriptedSidecar,
  type StartOptions,
  startSidecar,
} from './wire/sidecar.ts'
export type { RuleStage } from './wire/rules.ts'
export type { SidecarProcess } from './wire/sidecar-process.ts'
export { ENGINE_UNDER_TEST } from './wire/engine.ts'
export { metricOf } from './wire/metric.ts'
export { metricBecomes, metricValue } from './wire/metric-value.ts'

/** Clients: of plain sockets, of `node:http`, and of real SDKs. */
export { type ClientResponse, RawClient, exchange } from './wire/raw-client.ts'
export { type Called, type Place, call, callMessage, post, textOf } from './wire/http-call.ts'
export { openClient } from './wire/clients/open-client.ts'
export type { InteropClientV2 } from './wire/clients/client-v2.ts'
export {
  type ClientTransport,
  type InteropClient,
  type OpenClient,
  outcome,
} from './wire/clients/interop-client.ts'
export { withoutChance } from './wire/recorded-fetch.ts'

/** Bytes. */
export { OPEN_STREAM, STREAM_HEAD, median, rpcPost, toolCall } from './wire/mcp-bytes.ts'
export { type WireMessage, valueOf, valuesOf } from './wire/reader.ts'
export { handshake, shownBy, tlsFile, tlsText } from './wire/tls.ts'
export { freePort } from './wire/free-port.ts'
