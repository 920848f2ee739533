import { acceptsType } from '../http/accept.ts'
import { inOnePiece } from '../base/bytes.ts'
import type { HeadDoubt } from './doubt.ts'
import { bodyType, type BodyType } from '../http/body-type.ts'
import { targetPath, type RequestHead } from '../http/headers.ts'
import { FastRequestHead } from '../http/fast/fast-request-head.ts'
import { traceIn } from '../http/traceparent.ts'

/** What a request may be by its head alone. */
export type HeadClass =
  /** A POST whose body may be JSON-RPC. */
  | 'post'
  /** A GET that asks for an event stream. */
  | 'stream'
  /** A DELETE that ends a session. */
  | 'session-end'
  /** Everything else. */
  | 'http'

/** What a head says that the way of its request depends on. */
export interface HeadFacts {
  readonly kind: HeadClass
  /** The session header's value. */
  readonly session: string | undefined
  /** The protocol version that the header states. */
  readonly protocolVersion: string | undefined
  /** The coding of the body. */
  readonly coding: string | undefined
  /** The first 55 characters of a valid `traceparent`. */
  readonly trace: string | undefined
  /** The values of `Mcp-Method` and `Mcp-Name`, not decoded. */
  readonly mcpMethod: string | undefined
  readonly mcpName: string | undefined
  /** It says that a body follows. */
  readonly hasBody: boolean
  /** Why the body, which looks like MCP, is not read; undefined where nothing speaks against it. */
  readonly doubt: HeadDoubt | undefined
}

/** Reads a head once; of one that is known by its bytes, what was read before. */
export function factsOf(head: RequestHead): HeadFacts {
  if (!(head instanceof FastRequestHead)) return readFacts(head)
  return (head.notes.facts ??= lasting(readFacts(head))) as HeadFacts
}

/** The session is looked up with each call, and outlives the head that it was a part of. */
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
/** Headers by which frameworks take a request for one of another method. */
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
  /** A header that is read once is there twice. */
  repeats = false
  #length: string | undefined

  constructor({ method, headers }: RequestHead) {
    for (let i = 0; i + 1 < headers.length; i += 2) this.#line(headers[i]!, headers[i + 1]!)
    // Facts are kept for heads that differ in the declared length, which only a POST has then.
    if (this.#length !== undefined) this.hasBody ||= this.#length !== '0' || method === 'POST'
  }

  #line(name: string, value: string): void {
    // By length first: most lines are none of these.
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
      // As long as `content-length`.
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
  const doubt = doubtOf(head, lines)
  const kind = classOf(head, lines, doubt)
  // Of two traces nobody can say which one is meant.
  const trace = traces === 1 ? traceIn(lines.trace!) : undefined
  return { kind, session, protocolVersion, coding, trace, mcpMethod, mcpName, hasBody, doubt }
}

function doubtOf({ method }: RequestHead, lines: Lines): HeadDoubt | undefined {
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
  doubt: HeadDoubt | undefined,
): HeadClass {
  switch (method) {
    case 'POST':
      return type === 'json' && doubt === undefined ? 'post' : 'http'
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
