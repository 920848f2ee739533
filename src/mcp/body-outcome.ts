import { asBuffer } from './bytes.ts'
import type { Call, Outcome } from './call.ts'
import { parseMessages } from './json-rpc.ts'
import type { Message } from './message.ts'
import { outcomeOf } from './outcome.ts'
import { isModern } from './revision.ts'

/** A body below this is always parsed: looking through it first would save nothing. */
const WORTH_SKIPPING = 16 * 1024

/** How the calls of one exchange ended by a whole answer that is not a stream, call by call. */
export function outcomeOfJsonBody(
  calls: readonly Call[],
  status: number,
  body: string | Uint8Array,
): Outcome[] {
  if (status >= 200 && status < 300) {
    // 202 and 204 carry no answer, whatever follows them.
    if (status === 202 || status === 204) return calls.map(() => 'incomplete')
    if (calls.length === 1 && isPlainResult(calls[0]!, body)) return ['ok']
    const answers = read(body)
    if (calls.length === 1 && answers.length === 1) return [outcomeOfOnly(calls[0]!, answers[0]!)]
    return calls.map((call) => {
      const answer = takeAnswer(answers, call, true)
      return answer === undefined ? 'incomplete' : outcomeOf(call, answer)
    })
  }
  // The client repeats the same POST elsewhere: nothing has failed here.
  if (status === 307 || status === 308) return calls.map(() => 'ok')
  const answers = status === 400 || status === 404 ? read(body) : []
  return calls.map((call) => {
    if (isNegotiationStatus(call.method, status)) return 'ok'
    const answer = isModern(call.revision) ? takeAnswer(answers, call, false) : undefined
    return answer?.kind === 'error' ? 'rpc_error' : 'http_error'
  })
}

/** How an app says that it does not speak the revision, or the transport, of a handshake. */
function isNegotiationStatus(method: string, status: number): boolean {
  return (
    (method === 'server/discover' || method === 'initialize') &&
    (status === 400 || status === 404 || status === 405)
  )
}

/** One call and one message, as nearly always: an error without an id is about the whole body. */
function outcomeOfOnly(call: Call, answer: Message): Outcome {
  const answers = answer.kind === 'result' || answer.kind === 'error'
  if (!answers || (answer.id !== call.id && answer.id !== null)) return 'incomplete'
  return outcomeOf(call, answer)
}

/** Takes the answer out, so that of two calls with one id each gets its own. */
function takeAnswer(answers: Message[], call: Call, orNull: boolean): Message | undefined {
  let nameless: Message | undefined
  for (let i = 0; i < answers.length; i++) {
    const answer = answers[i]!
    if (answer.kind !== 'result' && answer.kind !== 'error') continue
    if (answer.id === call.id) {
      answers.splice(i, 1)
      return answer
    }
    // An error without an id is about the whole body: it answers every call that has nothing else.
    if (answer.id === null) nameless ??= answer
  }
  return orNull ? nameless : undefined
}

function read(body: string | Uint8Array): Message[] {
  const text = typeof body === 'string' ? body : asBuffer(body).toString('utf8')
  const parsed = parseMessages(text)
  return parsed.ok ? parsed.messages.slice() : []
}

/**
 * True only for a large answer that is plainly this call's result and cannot be an error. JSON can
 * spell a letter of a key as \u00XX: a body with such an escape is parsed.
 */
function isPlainResult(call: Call, body: string | Uint8Array): boolean {
  if (body.length <= WORTH_SKIPPING || call.method === 'tasks/get') return false
  const hay = typeof body === 'string' ? body : asBuffer(body)
  if (hay.includes('"error"') || hay.includes('"isError"') || hay.includes('\\u00')) return false
  return (
    firstIs(hay, '{') &&
    lastIs(hay, '}') &&
    hay.includes('"result"') &&
    (hasId(hay, `"id":${JSON.stringify(call.id)}`) ||
      hasId(hay, `"id": ${JSON.stringify(call.id)}`))
  )
}

/** The member and what ends it, so that `1` is not found in `12`; any other spelling is parsed. */
function hasId(hay: string | Buffer, member: string): boolean {
  return hay.includes(`${member},`) || hay.includes(`${member}}`)
}

function firstIs(hay: string | Buffer, mark: string): boolean {
  return textAt(hay, 0) === mark
}

function lastIs(hay: string | Buffer, mark: string): boolean {
  let at = hay.length - 1
  while (at > 0 && (textAt(hay, at) === '\n' || textAt(hay, at) === '\r')) at--
  return textAt(hay, at) === mark
}

function textAt(hay: string | Buffer, at: number): string {
  return typeof hay === 'string' ? hay.charAt(at) : String.fromCharCode(hay[at]!)
}
