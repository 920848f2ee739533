import { asBuffer } from '../base/bytes.ts'
import { fieldsOf, isRecord, listOf, parsedJson, textOf } from '../base/values.ts'
import type { Message } from './json-rpc.ts'

/**
 * Describes an error in the words of whoever made it: foreign text, neither cleaned nor redacted.
 */
export interface ErrorText {
  /** The HTTP status, where the status is the error. */
  readonly status?: number | undefined
  /** The code of a JSON-RPC error. */
  readonly code?: number | undefined
  readonly message?: string | undefined
  /** The wait that a JSON-RPC error asks for, in milliseconds. */
  readonly retryAfter?: number | undefined
}

/** Longer messages are cut; a reader shows less. */
const MAX_MESSAGE = 400
/** Larger bodies of HTTP errors are not parsed. */
const MAX_BODY = 16 * 1024
const TITLE = /<title[^>]{0,100}>([^<]{1,200})/i
/** The members of JSON errors that hold a message: RFC 6749, RFC 9457 and common frameworks. */
const MESSAGE_KEYS = ['message', 'error_description', 'detail', 'error', 'title'] as const

/** Returns what a failed response says. */
export function errorTextOf(message: Message): ErrorText {
  if (message.kind === 'error') return rpcError(message.error)
  if (message.kind !== 'result') return {}
  const { isError, content, result, error, statusMessage } = fieldsOf(message.result)
  if (isError === true) return { message: contentText(content) }
  // The result of a task.
  const inner = fieldsOf(result)
  if (inner['isError'] === true) return { message: contentText(inner['content']) }
  return isRecord(error) ? rpcError(error) : { message: cut(textOf(statusMessage)) }
}

/**
 * Returns what the body of an HTTP error says; of JSON only members that are known to be messages.
 */
export function httpErrorText(status: number, body: string | Uint8Array): ErrorText {
  if (body.length > MAX_BODY) return { status }
  const text = (typeof body === 'string' ? body : asBuffer(body).toString('utf8')).trim()
  if (/^[[{"]/.test(text)) return { status, message: cut(jsonMessage(text)) }
  return { status, message: cut(text.startsWith('<') ? TITLE.exec(text)?.[1]?.trim() : text) }
}

function rpcError(error: unknown): ErrorText {
  const { code, message, data } = fieldsOf(error)
  const seconds = fieldsOf(data)['retryAfter']
  return {
    code: Number.isInteger(code) ? (code as number) : undefined,
    message: cut(textOf(message)),
    ...(typeof seconds === 'number' && seconds >= 0 && { retryAfter: seconds * 1000 }),
  }
}

function contentText(content: unknown): string | undefined {
  return cut(
    listOf(content)
      .map(({ text }) => textOf(text))
      .find((text) => text !== undefined),
  )
}

function jsonMessage(text: string): string | undefined {
  const value = parsedJson(text)
  const fields = fieldsOf(Array.isArray(value) ? value[0] : value)
  const inner = fieldsOf(fields['error'])
  const found = [inner, fields].flatMap((each) => MESSAGE_KEYS.map((key) => textOf(each[key])))
  return found.find((each) => each !== undefined)
}

/** Copies the beginning, so that a whole body does not stay in memory for it. */
function cut(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  return Buffer.from(text.slice(0, MAX_MESSAGE), 'utf8').toString('utf8')
}
