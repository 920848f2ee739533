/** The kind of error. */
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
  | 'response'

/** The API server could not be asked, or said no: what is wrong, and what to do. */
export class KubeError extends Error {
  override readonly name = 'KubeError'
  readonly code: KubeErrorCode
  /** The HTTP status, where there was a response. */
  readonly status: number | undefined

  constructor(code: KubeErrorCode, message: string, status?: number) {
    super(message)
    this.code = code
    this.status = status
  }
}

/** Returns true for an error of one of the kinds. */
export function isKubeError(error: unknown, ...codes: readonly KubeErrorCode[]): boolean {
  return error instanceof KubeError && codes.includes(error.code)
}
