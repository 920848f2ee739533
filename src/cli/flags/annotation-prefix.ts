import type { Given } from './flag-values.ts'
import { badValue } from './usage-error.ts'

const PREFIX = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/$/

/** Checks what annotations are to begin with. Throws nothing but a `UsageError`. */
export function parseAnnotationPrefix({ text, source }: Given): string {
  if (PREFIX.test(text)) return text
  throw badValue(
    { text, source },
    'is no prefix',
    'write a domain and a slash, such as squall.dev/',
  )
}
