import type { ResponseHead } from '../../../http/headers.ts'

/** Rejects a head of a fault that cannot be sent. */
export class UnsendableHeadError extends Error {
  readonly code = 'SQUALL_UNSENDABLE_HEAD'
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Matches line breaks, NUL, and characters of more than one byte. */
// oxlint-disable-next-line no-control-regex -- these are the very characters that must not pass
const UNSAFE = /[\r\n\0\u0100-\uffff]/

/** Rejects a head that would be split differently on the wire, or that is not a final response. */
export function checkedHead(head: ResponseHead, before: ResponseHead): void {
  if (head === before) return
  const { status, reason, headers } = head
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new UnsendableHeadError(`no status of a response: ${status}`)
  }
  if (UNSAFE.test(reason)) throw new UnsendableHeadError('a reason phrase with a line break')
  if (headers.length % 2 !== 0) throw new UnsendableHeadError('a header without a value')
  if (headers === before.headers) return
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if (!NAME.test(headers[i]!) || UNSAFE.test(headers[i + 1]!)) {
      throw new UnsendableHeadError('a header that holds a line break, or has no name')
    }
  }
}
