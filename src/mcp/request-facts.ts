import { acceptsType } from '../http/accept.ts'
import { inOnePiece } from '../base/bytes.ts'
import { bodyType, type BodyType } from '../http/body-type.ts'
import { targetPath, type RequestHead } from '../http/headers.ts'
import { FastRequestHead } from '../http/fast/fast-request-head.ts'
import { parseTraceparent } from '../http/traceparent.ts'

/** Classifies a request by its head. */
export type HeadClass =
  /** A POST whose body may be JSON-RPC. */
  | 'post'
  /** A GET that asks for an event stream. */
  | 'stream'
  /** A DELETE that ends a session. */
  | 'session-end'
  /** Everything else. */
  | 'http'

/** Reasons in the headers for not reading the body. */
export type HeaderAmbiguity =
  /** The Content-Type names another charset than UTF-8. */
  | 'charset'
  /** The Content-Type is not JSON, but the request looks like MCP. */
  | 'content_type'
  /** A header that determines how the request is read appears twice. */
  | 'repeated_header'
  /** The method is not POST, or a header overrides it. */
  | 'http_method'

/** The facts of a head that decide how the request is handled. */
export interface HeadFacts {
  readonly kind: HeadClass
  /** The values of `Mcp-Session-Id` and `MCP-Protocol-Version`. */
  readonly session: string | undefined
  readonly protocolVersion: string | undefined
  readonly coding: string | undefined
  /** The first 55 characters of a valid `traceparent`. */
  readonly trace: string | undefined
  /** The values of `Mcp-Method` and `Mcp-Name`, not decoded. */
  readonly mcpMethod: string | undefined
  readonly mcpName: string | undefined
  readonly hasBody: boolean
  /** The reason for not reading a body that looks like MCP, if any. */
  readonly ambiguity: HeaderAmbiguity | undefined
}

/** Reads the facts of a head; caches them for fast heads. */
export function factsOf(head: RequestHead): HeadFacts {
  if (!(head instanceof FastRequestHead)) return readFacts(head)
  return (head.cache.facts ??= lasting(readFacts(head))) as HeadFacts
}

/** Flattens the session's string, which is looked up with each call and outlives the head. */
function lasting(facts: HeadFacts): HeadFacts {
  const { session } = facts
  return session === undefined ? facts : { ...facts, session: inOnePiece(session) }
}

const SESSION = 'mcp-session-id'
const PROTOCOL_VERSION = 'mcp-protocol-version'
const METHOD = 'mcp-method'
const NAME = 'mcp-name'
const TYPE = 'content-type'
const CODING = 'content-encoding'
const LENGTH = 'content-length'
const TRANSFER = 'transfer-encoding'
const TRACE = 'traceparent'
const ACCEPT = 'accept'
/** Headers with which frameworks override the method. */
const OVERRIDES: readonly string[] = [
  'x-http-method',
  'x-method-override',
  'x-http-method-override',
]

/** Facts collected while header lines are read. */
class Lines {
  session: string | undefined
  protocolVersion: string | undefined
  mcpMethod: string | undefined
  mcpName: string | undefined
  coding: string | undefined
  type: BodyType = 'none'
  hasBody = false
  streams = false
  traces = 0
  trace: string | undefined
  overrides = false
  /** True when a header with a single value appears twice. */
  repeats = false
  #length: string | undefined

  constructor({ method, headers }: RequestHead) {
    for (let i = 0; i + 1 < headers.length; i += 2) this.#line(headers[i]!, headers[i + 1]!)
    // Facts are cached for heads that differ only in the declared length, which only a POST has.
    if (this.#length !== undefined) this.hasBody ||= this.#length !== '0' || method === 'POST'
  }

  #line(name: string, value: string): void {
    // Compares the length first, because most lines are other headers.
    switch (name.length) {
      case ACCEPT.length:
        if (!this.streams && is(name, ACCEPT)) this.streams = asksForStream(value)
        break
      case NAME.length:
        if (is(name, NAME)) this.mcpName = this.#once(this.mcpName, value)
        break
      case METHOD.length:
        if (is(name, METHOD)) this.mcpMethod = this.#once(this.mcpMethod, value)
        break
      case TRACE.length:
        if (!is(name, TRACE)) break
        this.traces++
        this.trace = value
        break
      case TYPE.length:
        if (is(name, TYPE)) this.#type(value)
        break
      // `content-length` has the same length.
      case SESSION.length:
        if (is(name, SESSION)) this.session = this.#once(this.session, value)
        else if (is(name, LENGTH)) this.#length = value
        break
      case CODING.length:
        if (is(name, CODING)) this.coding = this.#once(this.coding, value)
        break
      case TRANSFER.length:
        this.hasBody ||= is(name, TRANSFER)
        break
      case PROTOCOL_VERSION.length:
        if (is(name, PROTOCOL_VERSION))
          this.protocolVersion = this.#once(this.protocolVersion, value)
        break
    }
    if (name.length >= OVERRIDES[0]!.length && (name[0] === 'x' || name[0] === 'X')) {
      this.overrides ||= OVERRIDES.includes(name.toLowerCase()) && value.toUpperCase() !== 'POST'
    }
  }

  #once(before: string | undefined, value: string): string {
    if (before === undefined) return value
    this.repeats = true
    return before
  }

  #type(value: string): void {
    const type = bodyType(value)
    if (this.type === 'none') {
      this.type = type
      return
    }
    this.repeats = true
    if (type !== 'other') this.type = type
  }
}

function readFacts(head: RequestHead): HeadFacts {
  const lines = new Lines(head)
  const { session, protocolVersion, coding, mcpMethod, mcpName, hasBody, traces } = lines
  const ambiguity = ambiguityOf(head, lines)
  const kind = classOf(head, lines, ambiguity)
  // Two traces are ambiguous.
  const trace = traces === 1 ? parseTraceparent(lines.trace!) : undefined
  return { kind, session, protocolVersion, coding, trace, mcpMethod, mcpName, hasBody, ambiguity }
}

function ambiguityOf({ method }: RequestHead, lines: Lines): HeaderAmbiguity | undefined {
  const { type, hasBody, repeats, overrides } = lines
  if (type === 'other' || type === 'none') {
    const isMcp =
      lines.session !== undefined || lines.protocolVersion !== undefined || lines.streams
    if (!hasBody || !(isMcp || lines.mcpMethod !== undefined)) return undefined
    return method === 'POST' ? 'content_type' : 'http_method'
  }
  if (method !== 'POST') return hasBody ? 'http_method' : undefined
  if (type !== 'json') return type
  if (repeats) return 'repeated_header'
  return overrides ? 'http_method' : undefined
}

function classOf(
  { method, target }: RequestHead,
  { type, streams, session }: Lines,
  ambiguity: HeaderAmbiguity | undefined,
): HeadClass {
  switch (method) {
    case 'POST':
      return type === 'json' && ambiguity === undefined ? 'post' : 'http'
    case 'GET':
      return streams && !targetPath(target).includes('/.well-known/') ? 'stream' : 'http'
    case 'DELETE':
      return session === undefined ? 'http' : 'session-end'
    default:
      return 'http'
  }
}

function asksForStream(accept: string): boolean {
  return accept === 'text/event-stream' || acceptsType(accept, 'text/event-stream')
}

function is(name: string, wanted: string): boolean {
  return name === wanted || name.toLowerCase() === wanted
}
