import { AdminTokenError, readAdminToken } from '../admin/admin-token.ts'
import type { Environment, FlagValues } from './flag-values.ts'
import { UsageError } from './usage-error.ts'

/** The admin token comes from its file, or from an environment variable: a command line can be read by others. */
export function parseAdminToken(
  flags: FlagValues<'admin-token-file'>,
  env: Environment,
): string | undefined {
  try {
    const file = flags.optional('admin-token-file')?.text
    return readAdminToken({ env: env['SQUALL_ADMIN_TOKEN'], file })
  } catch (error) {
    if (!(error instanceof AdminTokenError)) throw error
    throw new UsageError('BAD_VALUE', error.message, 'make one with: openssl rand -base64 24')
  }
}
