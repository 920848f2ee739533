import { basename, dirname, isAbsolute, posix, relative, resolve, sep } from 'node:path'
import { invalidFile } from '#cli'
import { type SavedPlan, readPlan } from '../../experiment/read-plan.ts'

/** A plan and the files that it names, as a ConfigMap has them. */
export type PlanFiles = Awaited<ReturnType<typeof planFiles>>

/** The API server accepts objects of about 1 MiB, with their metadata. */
const MAX_BYTES = 1_000_000
const PLAN_KEY = 'plan'

/**
 * Arranges a plan and its files so that relative paths lead to the same files in another
 * directory, where the ConfigMap is mounted. Throws a `UsageError`.
 */
export async function planFiles({ file, directory, text, files }: SavedPlan) {
  const texts = new Map(Object.entries(files).map(([path, each]) => [resolve(path), each]))
  const top = commonDirectory([directory, ...[...texts.keys()].map((path) => dirname(path))])
  const below = (path: string): string => relative(top, path).split(sep).join('/')
  const plan = posix.join(below(directory), basename(file))
  const named = [...texts].map(([path, each], i) => ({
    key: `file-${i + 1}`,
    path: below(path) === plan ? undefined : below(path),
    text: each,
  }))
  const entries = [{ key: PLAN_KEY, path: plan, text }, ...named]
  const bytes = entries.reduce((sum, each) => sum + Buffer.byteLength(each.text), 0)
  if (bytes > MAX_BYTES) {
    const wrong = `the plan and its files are ${bytes} bytes; a ConfigMap holds at most ${MAX_BYTES}`
    throw invalidFile(wrong, 'reduce the size of the files')
  }
  const items = entries.flatMap(({ key, path }) => (path === undefined ? [] : [{ key, path }]))
  const data = Object.fromEntries(entries.map((each) => [each.key, each.text]))
  await checkPaths(file, text, plan, new Map(items.map(({ key, path }) => [path, data[key]!])))
  return { plan, data, items }
}

/** Reads the plan as the Job does: an absolute path leads nowhere there. */
async function checkPaths(
  file: string,
  text: string,
  plan: string,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  const root = resolve('/plan')
  const absent: string[] = []
  const readText = async (path: string): Promise<string> => {
    const found = files.get(relative(root, path).split(sep).join('/'))
    if (found === undefined) absent.push(path)
    return found ?? ''
  }
  await readPlan(text, { file, directory: dirname(resolve(root, plan)), readText })
  if (absent.length === 0) return
  const wrong = `the plan names ${absent.join(', ')}, which is not a path relative to the plan`
  throw invalidFile(wrong, 'use relative paths')
}

/** Returns the deepest directory that contains all of the directories. */
function commonDirectory([first = sep, ...others]: readonly string[]): string {
  let top = resolve(first)
  const contains = (path: string): boolean => {
    const way = relative(top, path)
    return !isAbsolute(way) && way !== '..' && !way.startsWith(`..${sep}`)
  }
  while (!others.every((other) => contains(resolve(other)))) top = dirname(top)
  return top
}
