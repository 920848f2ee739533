import { acceptsType } from './accept.ts'
import { inOnePiece } from './bytes.ts'
import { mediaType, targetPath, type RequestHead } from './http.ts'
import { PlainHead } from './plain/plain-head.ts'
import { traceIn } from './traceparent.ts'

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
  /** The protocol revision that the header states. */
  readonly revision: string | undefined
  /** The coding of the body. */
  readonly coding: string | undefined
  /** The first 55 characters of a valid `traceparent`. */
  readonly trace: string | undefined
}

/** Reads a head once; of one that is known by its bytes, what was read before. */
export function factsOf(head: RequestHead): HeadFacts {
  if (!(head instanceof PlainHead)) return readFacts(head)
  return (head.notes.facts ??= lasting(readFacts(head)))
}

/** The session is looked up with each call, and outlives the head that it was a part of. */
function lasting(facts: HeadFacts): HeadFacts {
  const { session } = facts
  return session === undefined ? facts : { ...facts, session: inOnePiece(session) }
}

const SESSION = 'mcp-session-id'
const REVISION = 'mcp-protocol-version'
const TYPE = 'content-type'
const CODING = 'content-encoding'
const TRACE = 'traceparent'
const ACCEPT = 'accept'

function readFacts({ method, target, headers }: RequestHead): HeadFacts {
  let session: string | undefined
  let revision: string | undefined
  let coding: string | undefined
  let type: string | undefined
  let streams = false
  let traces = 0
  let trace: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    // By length first: most lines are none of these.
    switch (name.length) {
      case ACCEPT.length:
        if (!streams && is(name, ACCEPT)) streams = asksForStream(headers[i + 1]!)
        break
      case TRACE.length:
        if (!is(name, TRACE)) break
        traces++
        trace = headers[i + 1]
        break
      case TYPE.length:
        if (type === undefined && is(name, TYPE)) type = headers[i + 1]
        break
      case SESSION.length:
        if (session === undefined && is(name, SESSION)) session = headers[i + 1]
        break
      case CODING.length:
        if (coding === undefined && is(name, CODING)) coding = headers[i + 1]
        break
      case REVISION.length:
        if (revision === undefined && is(name, REVISION)) revision = headers[i + 1]
        break
    }
  }
  const kind = classOf(method, target, type, streams, session)
  // Of two traces nobody can say which one is meant.
  return { kind, session, revision, coding, trace: traces === 1 ? traceIn(trace!) : undefined }
}

function classOf(
  method: string,
  target: string,
  type: string | undefined,
  streams: boolean,
  session: string | undefined,
): HeadClass {
  switch (method) {
    case 'POST':
      return type === 'application/json' || mediaType(type) === 'application/json' ? 'post' : 'http'
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
