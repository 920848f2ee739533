import type { FlagSpec } from './flag-values.ts'

/** The options about who may read an admin port. */
export function adminAccessFlags<Group extends string>(group: Group) {
  return [
    {
      name: 'admin-hosts',
      value: 'names',
      repeatable: true,
      group,
      help: 'names by which the admin port may be read, beside addresses, names without a dot and names in a cluster: mcp.example.com or *.example.com',
    },
    {
      name: 'admin-read-token-file',
      value: 'path',
      group,
      help: 'file with a token that reading the admin port needs (or SQUALL_ADMIN_READ_TOKEN itself); /livez and /readyz stay open',
    },
  ] as const satisfies readonly FlagSpec[]
}

/** The option of clients of admin ports. */
export function readTokenFlag<Group extends string>(group: Group) {
  return {
    name: 'admin-read-token-file',
    value: 'path',
    group,
    help: 'file with the token that reading the admin ports needs (or SQUALL_ADMIN_READ_TOKEN itself)',
  } as const satisfies FlagSpec
}
