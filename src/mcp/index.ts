export { ask, askJson, askPrometheus, MonitorError } from '../http/ask-monitor.ts'
export { formatListen, type ListenAddress } from '../http/address.ts'
export { type AddressRange, isWithin, parseCidr } from '../http/cidr.ts'
export {
  type Destination,
  HOST_NAME,
  parseDestination,
  parseWrittenDestination,
  withoutHttp,
} from '../http/destination.ts'
export { isSlowFault } from '../http/foreign-markers.ts'
export { HEADER_NAME_PATTERN, isToken } from '../http/header-text.ts'
export { clockAhead } from '../http/http-date.ts'
export { retryAfterOf } from '../http/retry-after.ts'
export { CLIENT_HEADER, isTrustedHost, TOKEN_HEADER } from '../http/trusted-host.ts'
export type { Call } from './call.ts'
export { eventMessages } from './event-message.ts'
export { type Message, parseMessages } from './json-rpc.ts'
export { encodeHeaderValue } from './name-header.ts'
export { FIRST_MODERN_PROTOCOL_VERSION, isModern } from './protocol-version.ts'
export { SseFramer } from './sse-framer.ts'
export type { HeaderLines, RequestHead, ResponseHead } from '../http/headers.ts'
export { headerValue, targetPath } from '../http/headers.ts'
export type { Body, ResponseSink, Transfer, Upstream } from '../http/transfer.ts'
