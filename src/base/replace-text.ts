import { rename, writeFile } from 'node:fs/promises'

/** Replaces a file at once: nobody reads half of it. */
export async function replaceText(path: string, text: string, mode = 0o666): Promise<void> {
  const beside = `${path}.${process.pid}.new`
  await writeFile(beside, text, { mode })
  await rename(beside, path)
}
