import type { IncomingMessage } from 'node:http'

/** The reason why a body was not read to its end. */
export type BodyProblem = 'too_large' | 'slow_body' | 'overload' | 'gone'

/** Limits the size and time of a body. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly budget: ReturnType<typeof bodyBudget>
}

/** Limits the memory of all bodies together. */
export function bodyBudget(bytes: number) {
  let left = bytes
  return {
    /** Reserves memory; returns false when there is too little. */
    take: (size: number): boolean => {
      if (size > left) return false
      left -= size
      return true
    },
    give: (size: number): void => void (left += size),
  }
}

/** Reads a whole body, or returns the problem. Its memory counts until `done` is called. */
export function readReviewBody(
  request: IncomingMessage,
  { maxBytes, timeoutMs, budget }: BodyLimits,
): Promise<
  { readonly bytes: Buffer; readonly done: () => void } | { readonly problem: BodyProblem }
> {
  return new Promise((resolve) => {
    const declared = Number(request.headers['content-length'] ?? 0)
    if (declared > maxBytes) return resolve({ problem: 'too_large' })
    const chunks: Buffer[] = []
    let size = 0
    const done = (): void => {
      budget.give(size)
      size = 0
    }
    const end = (problem: BodyProblem | undefined): void => {
      clearTimeout(timer)
      request.removeAllListeners('data')
      request.off('end', whole).off('close', gone)
      if (problem === undefined) return resolve({ bytes: Buffer.concat(chunks), done })
      done()
      // The rest is discarded until the connection is cut.
      request.resume()
      resolve({ problem })
    }
    const whole = (): void => end(undefined)
    const gone = (): void => end('gone')
    const timer = setTimeout(() => end('slow_body'), timeoutMs)
    request.on('data', (chunk: Buffer) => {
      if (size + chunk.length > maxBytes) return end('too_large')
      if (!budget.take(chunk.length)) return end('overload')
      size += chunk.length
      chunks.push(chunk)
    })
    request.once('end', whole).once('close', gone)
    request.on('error', () => undefined)
  })
}
