import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A rules file that is edited while traffic passes, as editors do it: a new file takes the name. */
export class LiveRules {
  readonly file: string
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
    this.file = join(directory, 'rules.yaml')
  }

  static async open(): Promise<LiveRules> {
    return new LiveRules(await mkdtemp(join(tmpdir(), 'squall-demo-')))
  }

  async write(text: string): Promise<void> {
    await writeFile(`${this.file}.new`, text)
    await rename(`${this.file}.new`, this.file)
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true })
  }
}
