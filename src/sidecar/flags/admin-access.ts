import { hostname } from 'node:os'
import { readToken } from '../../admin/admin-token.ts'
import type { ReadAccess } from '../../admin/guards.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { isHost, type ListenAddress } from '../../http/address.ts'
import { type Environment, type FlagInput, group } from '../../base/flags/flag.ts'
import { asText, many, one } from '../../base/flags/kinds.ts'
import { invalidCombination, invalidOption, missing } from '../../base/flags/usage-error.ts'

const MAX_HOSTS = 100

/** Reads the admin token from a file or an environment variable, which other users cannot read. */
export function adminTokenOf(file: string | undefined, env: Environment): string | undefined {
  return readToken('admin token', file, env)
}

/** Reads the admin token, without which a command cannot change sidecars. Throws a `UsageError`. */
export function requiredAdminToken(file: string | undefined, env: Environment): string {
  const token = adminTokenOf(file, env)
  if (token !== undefined) return token
  throw missing(
    'no admin token',
    'set SQUALL_ADMIN_TOKEN or --admin-token-file to the token of the sidecar',
  )
}

/** Reads the token for reading admin ports, from a file or an environment variable. */
export function readTokenOf(file: string | undefined, env: Environment): string | undefined {
  return readToken('admin read token', file, env)
}

/** Reads the token of the clients of `squall mcp`, from a file or an environment variable. */
export function mcpTokenOf(file: string | undefined, env: Environment): string | undefined {
  return readToken('mcp token', file, env)
}

/** Returns the names by which clients may reach a port at an address. */
export function ownHosts(address: ListenAddress | undefined): readonly string[] {
  return address?.kind === 'tcp' ? [address.host.toLowerCase(), hostname().toLowerCase()] : []
}

/** Returns the access rules for reading the admin port at an address. */
export function readAccessOf(
  {
    adminHosts,
    adminReadTokenFile,
  }: { readonly adminHosts: readonly string[]; readonly adminReadTokenFile: string | undefined },
  env: Environment,
  admin: ListenAddress | undefined,
  token?: string,
): ReadAccess {
  const reading = readTokenOf(adminReadTokenFile, env)
  if (reading !== undefined && reading === token) {
    throw invalidCombination(
      'the admin token and the admin read token are the same',
      'create another token with: openssl rand -base64 24',
    )
  }
  return { readToken: reading, hosts: [...ownHosts(admin), ...adminHosts] }
}

/** Parses the host names under which a port may be reached. */
export function parseHosts(all: readonly FlagInput[]): readonly string[] {
  const hosts = all.flatMap(({ text, source }) =>
    text.split(',').map((part) => {
      const host = part.trim().toLowerCase()
      if (isHost(host.replace(/^\*\./, ''))) return host
      throw invalidOption(
        source,
        `${quoted(part)} is not a host`,
        'write a name such as mcp.example.com, or *.example.com, without a port',
      )
    }),
  )
  if (hosts.length <= MAX_HOSTS) return hosts
  throw invalidOption(all[0]!.source, 'too many', `use at most ${MAX_HOSTS}`)
}

/** Declares the options for read access to an admin port. */
export function adminAccessFlags(title: string) {
  return group(title, {
    adminHosts: many(
      'names',
      'additional host names that the admin port accepts, such as mcp.example.com or *.example.com; IP addresses, single-label names, *.localhost, *.svc, *.cluster.local and *.internal are always accepted',
      parseHosts,
    ),
    adminReadTokenFile: one(
      'path',
      'file with the token that is required to read from the admin port, except /livez, /readyz and /app-health (or set SQUALL_ADMIN_READ_TOKEN)',
      asText,
    ),
  })
}

/** Declares the option for the read token of clients of admin ports. */
export function readTokenFlag(title: string) {
  return group(title, {
    adminReadTokenFile: one(
      'path',
      'file with the read token of the admin ports (or set SQUALL_ADMIN_READ_TOKEN)',
      asText,
    ),
  })
}
