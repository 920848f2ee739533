import type { RulesFile } from './schema.ts'
import { createHash } from 'node:crypto'
import { sha256Of } from '../../base/digest.ts'
import { readWhole } from '../../base/files.ts'
import { constants, type Stats } from 'node:fs'
import { lstat, open, opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MAX_FILE_BYTES } from './parse.ts'
import { fileProblem, type FileProblems } from './problem.ts'
import { systemReason } from '../../base/system-reason.ts'

/** A file's bytes, and its name in messages. */
export interface RulesText {
  readonly file: string
  readonly bytes: Uint8Array
}

/** The files found at the path of the rules. */
export type FoundRules =
  | {
      readonly kind: 'found'
      /** The digest of all bytes, and of the errors of unreadable files. */
      readonly digest: string
      /** True when these are all files of a directory. */
      readonly isDirectory: boolean
      readonly texts: readonly RulesText[]
      /** Files that exist and cannot be read. */
      readonly problems: readonly FileProblems[]
      /** When the youngest of the files was written, in milliseconds since the epoch. */
      readonly writtenAt: number
    }
  | { readonly kind: 'absent'; readonly digest: string; readonly reason: string }

/** The result of opening one file; empty when the file does not exist. */
interface Opened {
  readonly text?: RulesText
  readonly problems?: FileProblems
  readonly stats?: Stats
}

/** The most rules files that a directory may have. */
export const MAX_FILES = 256
/** Limits the names that are read from a directory. */
const MAX_ENTRIES = 10_000
/** A file that changes all the time is accepted after these attempts; it is read again later. */
const ATTEMPTS = 3
const RULES_FILE = /^[^.].*\.(?:yaml|yml|json)$/s

/**
 * Returns true for the files of a rules directory that are read. Files of editors and of the
 * kubelet are not.
 */
export function isRulesFileName(name: string): boolean {
  return RULES_FILE.test(name)
}

/** Returns texts as found files, for rules that are not at the path of a sidecar. */
export function foundTexts(
  texts: readonly RulesText[],
  isDirectory: boolean,
): Extract<FoundRules, { readonly kind: 'found' }> {
  return { kind: 'found', digest: '', isDirectory, texts, problems: [], writtenAt: 0 }
}

/** Reads a rules file, or those of a directory. Never throws, and never waits for a pipe. */
export async function readRules(path: string): Promise<FoundRules> {
  for (let attempt = 1; ; attempt++) {
    const { found, steady } = await readOnce(path)
    if (steady || attempt === ATTEMPTS) return found
  }
}

async function readOnce(path: string): Promise<{ found: FoundRules; steady: boolean }> {
  let names: readonly string[] | undefined
  try {
    if ((await stat(path)).isDirectory()) names = await namesIn(path)
  } catch (error) {
    const found = isMissing(error)
      ? absent(await whyMissing(path))
      : foundOf(false, [{ problems: unreadable(path, error) }])
    return { found, steady: true }
  }
  if (names !== undefined && names.length > MAX_FILES) {
    const message = `has more than ${MAX_FILES} rules files`
    return {
      found: foundOf(true, [{ problems: fileProblem(path, 'too_many', message) }]),
      steady: true,
    }
  }
  const opened: Opened[] = []
  let left = MAX_FILE_BYTES
  for (const file of names?.map((name) => join(path, name)) ?? [path]) {
    const each = await readFile(file, left, names !== undefined)
    left -= each.text?.bytes.length ?? 0
    opened.push(each)
  }
  // The file vanished meanwhile.
  const isGone = names === undefined && opened[0]?.stats === undefined && !opened[0]?.problems
  if (isGone) return { found: absent(await whyMissing(path)), steady: true }
  return { found: foundOf(names !== undefined, opened), steady: await areSteady(opened) }
}

async function namesIn(path: string): Promise<readonly string[]> {
  const names: string[] = []
  let entries = 0
  for await (const { name } of await opendir(path)) {
    if (++entries > MAX_ENTRIES) throw new Error(`has more than ${MAX_ENTRIES} entries`)
    if (isRulesFileName(name)) names.push(name)
  }
  return names.sort()
}

async function readFile(file: string, most: number, isOneOfMany: boolean): Promise<Opened> {
  try {
    // Opening a device or a pipe has side effects.
    const before = await stat(file)
    if (!before.isFile()) return { problems: notAFile(file, before), stats: before }
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const stats = await handle.stat()
      if (!stats.isFile()) return { problems: notAFile(file, stats), stats }
      const bytes = stats.size > most ? undefined : await readWhole(handle, stats.size, most)
      if (bytes === undefined) {
        const message = isOneOfMany
          ? 'with this file, the directory has more than 1 MiB of rules'
          : 'a rules file must have at most 1 MiB'
        return { problems: fileProblem(file, 'too_large', message), stats }
      }
      return { text: { file, bytes }, stats }
    } finally {
      await handle.close()
    }
  } catch (error) {
    return isMissing(error) ? {} : { problems: unreadable(file, error) }
  }
}

/** Returns true when nothing changed since the read, so the bytes are of one state. */
async function areSteady(opened: readonly Opened[]): Promise<boolean> {
  for (const { text, stats } of opened) {
    if (text === undefined || stats === undefined) continue
    const now = await stat(text.file).catch(() => undefined)
    if (now === undefined || now.ino !== stats.ino || now.dev !== stats.dev) return false
    if (now.mtimeMs !== stats.mtimeMs || now.size !== stats.size) return false
  }
  return true
}

function foundOf(isDirectory: boolean, opened: readonly Opened[]): FoundRules {
  const texts = opened.flatMap(({ text }) => text ?? [])
  const problems = opened.flatMap((each) => each.problems ?? [])
  const writtenAt = Math.max(0, ...opened.map(({ stats }) => stats?.mtimeMs ?? 0))
  const digest = digestOf(isDirectory, texts, problems)
  return { kind: 'found', digest, isDirectory, texts, problems, writtenAt }
}

/**
 * Returns the digest of rules. For a single file it is the SHA-256 of its bytes, as other tools
 * compute it.
 */
export function digestOf(
  isDirectory: boolean,
  texts: readonly RulesText[],
  problems: readonly FileProblems[],
): string {
  const hash = createHash('sha256')
  if (isDirectory || texts.length !== 1) {
    const names = texts.map(({ file, bytes }) => [file, bytes.length])
    hash.update(JSON.stringify([names, problems]))
  }
  for (const { bytes } of texts) hash.update(bytes)
  return hash.digest('hex')
}

function absent(reason: string): FoundRules {
  return { kind: 'absent', digest: sha256Of(reason), reason }
}

async function whyMissing(path: string): Promise<string> {
  const isLink = await lstat(path).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  )
  return isLink ? 'the link points to a file that does not exist' : 'no such file'
}

function notAFile(file: string, stats: Stats): FileProblems {
  const what = stats.isDirectory()
    ? 'a directory'
    : stats.isFIFO()
      ? 'a named pipe'
      : stats.isSocket()
        ? 'a socket'
        : 'a device'
  return fileProblem(file, 'unreadable', `must be a file; got ${what}`)
}

/** Returns the problem of a file that the system does not let Squall read. */
export function unreadable(file: string, error: unknown): FileProblems {
  const isLoop = (error as NodeJS.ErrnoException).code === 'ELOOP'
  const why = isLoop ? 'its symbolic links form a loop' : systemReason(error)
  return fileProblem(file, 'unreadable', `cannot be read: ${why}`)
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** One state of the watched rules, as it was found. */
export type RulesVersion =
  | {
      readonly kind: 'rules'
      /** The digest of the bytes of all files. */
      readonly digest: string
      readonly file: RulesFile
      /** Each rule as written, on one line, in the order of the rules. */
      readonly asWritten?: readonly string[] | undefined
      /** A line for each field that differs, where a file is one of another tool. */
      readonly imported?: readonly string[] | undefined
    }
  | {
      readonly kind: 'rejected'
      readonly digest: string
      readonly problems: readonly FileProblems[]
      /** The problems as lines for people, each with its place in the text. */
      readonly frames?: readonly string[]
    }
  /** No file, or an empty one: no faults. */
  | { readonly kind: 'absent'; readonly digest: string; readonly reason: string }

/** Returns true when any rule of a version could ever act. */
export function canAct(version: RulesVersion): boolean {
  if (version.kind !== 'rules' || !version.file.enabled) return false
  return version.file.rules.some(({ enabled }) => enabled)
}
