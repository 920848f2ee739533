import type { IncomingMessage } from 'node:http'
import { type Fields, fieldsOf } from '../../base/values.ts'
import { text } from './read-values.ts'

const MAX_CHARACTERS = 16 * 1024

/** The parts of a short JSON answer that are shown. */
export interface SmallAnswer {
  readonly error: string
  readonly armed: boolean
  readonly changed: boolean
}

/**
 * Reads the beginning of an answer; what is longer, cut or no JSON says nothing. Where `hidden` is
 * in it, that is taken out: whoever answers may be anybody.
 */
export async function readSmall(response: IncomingMessage, hidden = ''): Promise<SmallAnswer> {
  let body = ''
  try {
    for await (const part of response.setEncoding('utf8')) {
      body += String(part)
      if (body.length > MAX_CHARACTERS) break
    }
  } catch {
    // What came until then may still be something.
  }
  const answer = parsed(body)
  return {
    error: text(without(answer['error'], hidden), 200),
    armed: answer['armed'] === true,
    changed: answer['changed'] === true,
  }
}

function parsed(body: string): Fields {
  try {
    return fieldsOf(JSON.parse(body))
  } catch {
    return {}
  }
}

function without(value: unknown, hidden: string): unknown {
  return typeof value === 'string' && hidden !== '' ? value.replaceAll(hidden, '…') : value
}
