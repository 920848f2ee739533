import { quoted } from './text/foreign-text.ts'

/** The reasons of the operating system, in words. */
const REASONS: ReadonlyMap<string | undefined, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EADDRINUSE', 'the address is already in use'],
  ['EADDRNOTAVAIL', 'the address is not assigned to this machine'],
  ['EEXIST', 'the file already exists'],
  ['EISDIR', 'it is a directory'],
  ['ELOOP', 'it is a symbolic link'],
  ['EMFILE', 'too many files are open'],
  ['ENOENT', 'no such file or directory'],
  ['ENOSPC', 'the disk is full'],
  ['ENOTDIR', 'a part of its path is not a directory'],
  ['ENXIO', 'the pipe has no reader'],
  ['EPERM', 'permission denied'],
  ['EROFS', 'the file system is read-only'],
  ['ERR_ENCODING_INVALID_ENCODED_DATA', 'invalid UTF-8'],
])

/** Matches the codes of certificates that Node rejects. */
export const UNTRUSTED = /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|ERR_TLS_CERT)/

/** Returns why a file or an address cannot be used: the reason of the system, or the message. */
export function systemReason(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException
  return REASONS.get(code) ?? (errno === undefined ? message : (code ?? message))
}

/** Returns the message for an error of the system about a path; undefined for others. */
export function rawTrouble(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, path } = error as NodeJS.ErrnoException
  if (!REASONS.has(code) || path === undefined) return undefined
  return `${quoted(path)} cannot be used: ${systemReason(error)}; check the path and its permissions`
}
