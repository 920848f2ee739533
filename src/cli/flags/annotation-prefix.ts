import { quoted } from '../../base/text/foreign-text.ts'
import type { Given } from './flag-values.ts'
import { UsageError } from './usage-error.ts'

const PREFIX = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/$/

/** Checks what annotations are to begin with. Throws nothing but a `UsageError`. */
export function parseAnnotationPrefix({ text, source }: Given): string {
  if (PREFIX.test(text)) return text
  throw new UsageError(
    'BAD_VALUE',
    `${source}: ${quoted(text)} is no prefix`,
    'write a domain and a slash, such as squall.dev/',
  )
}
