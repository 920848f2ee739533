export { ask, askJson, askPrometheus, MonitorError } from '../http/ask-monitor.ts'
export {
  type AddressRange,
  type Destination,
  formatListen,
  isHost,
  isHostName,
  isWithin,
  type ListenAddress,
  parseCidr,
  parseDestination,
  parsePort,
  parseWrittenDestination,
  withoutHttp,
} from '../http/address.ts'
export { isSlowFault } from '../http/foreign-markers.ts'
export { HEADER_NAME_PATTERN, isToken } from '../http/header-text.ts'
export { clockAhead, retryAfterOf } from '../http/http-date.ts'
export { CLIENT_HEADER, isTrustedHost, TOKEN_HEADER } from '../http/trusted-host.ts'
export { eventMessages } from './event-message.ts'
export { type Message, parseMessages } from './json-rpc.ts'
export { encodeHeaderValue } from './name-header.ts'
export { FIRST_MODERN_PROTOCOL_VERSION, isModern } from './protocol-version.ts'
export { SseFramer } from './sse-framer.ts'
export { headerValue, type RequestHead, targetPath } from '../http/headers.ts'
export type { Body, ResponseSink, Transfer, Upstream } from '../http/transfer.ts'
