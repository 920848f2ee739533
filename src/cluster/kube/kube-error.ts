/** What kind of trouble it was. */
export type KubeErrorCode =
  /** The kubeconfig or the service account cannot be used. */
  | 'config'
  /** The credentials cannot be had, or were not accepted. */
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'exists'
  | 'conflict'
  | 'invalid'
  | 'too_many_requests'
  /** No connection, or none that can be trusted. */
  | 'unreachable'
  | 'timeout'
  | 'too_large'
  /** The API server answered something else that is no success. */
  | 'answer'

/** The API server could not be asked, or said no: what is wrong, and what to do. */
export class KubeError extends Error {
  override readonly name = 'KubeError'
  readonly code: KubeErrorCode
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined

  constructor(code: KubeErrorCode, message: string, status?: number) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** Whether an error is of this kind. */
export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): boolean {
  return error instanceof KubeError && codes.includes(error.code)
}

const MAX_SHOWN = 300

/** A text of somebody else's, on one line and not endless. */
export function told(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]+/g, ' ').trim()
  return plain.length > MAX_SHOWN ? `${plain.slice(0, MAX_SHOWN)}…` : plain
}
