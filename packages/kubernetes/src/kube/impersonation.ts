import { type Fields, fieldsOf, textOf } from '#base'
import { configError } from './kube-error.ts'

/** The headers by which an API server takes a user for another one. */
export type Impersonation = Readonly<Record<string, string | readonly string[]>>

/** Returns the headers for a user, as a kubeconfig describes it. */
export function impersonationOf(user: Fields): Impersonation | undefined {
  for (const key of ['as', 'as-uid']) {
    // Without its header, the command would act with all rights of the user.
    if (user[key] !== undefined && textOf(user[key]) === undefined)
      throw configError(`${key} of the user must be a string; quote the value`)
  }
  const extra = Object.entries(fieldsOf(user['as-user-extra']))
  const headers = [
    ['impersonate-user', textOf(user['as']) ?? []],
    ['impersonate-uid', textOf(user['as-uid']) ?? []],
    ['impersonate-group', textList(user['as-groups'])],
    ...extra.map(([key, value]) => [`impersonate-extra-${headerName(key)}`, textList(value)]),
  ] as const
  const given = headers.filter(([, value]) => value !== undefined && value.length > 0)
  return given.length === 0 ? undefined : (Object.fromEntries(given) as Impersonation)
}

function textList(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

/** Encodes the name of an extra field, which may hold a slash. */
function headerName(key: string): string {
  return encodeURIComponent(key.toLowerCase()).replace('(', '%28').replace(')', '%29')
}
