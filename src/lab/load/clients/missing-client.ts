import { LoadError } from '../load-error.ts'
import type { ClientKind } from '../results/result.ts'

/** A client whose package is not installed: the SDKs are optional. */
export function missingClient(kind: ClientKind, name: string, cause: unknown): unknown {
  const { code } = cause as { readonly code?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND') return cause
  return new LoadError(
    'CLIENT_MISSING',
    `--client ${kind} needs the package ${name}, which is not installed`,
    `install it beside squall with npm install ${name}, or use --client lean`,
  )
}
