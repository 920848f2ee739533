import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Random } from '../support/random.ts'
import { Coverage } from './engine/coverage.ts'
import { readCases, readCorpus, writeCase, writeCorpus } from './engine/corpus.ts'
import { Fuzzer, type Progress } from './engine/fuzzer.ts'
import { TARGETS } from './targets/all.ts'

const USAGE = `usage: npm run fuzz -- [--target ${Object.keys(TARGETS).join('|')}] [--seconds 60] [--seed 1] [--keep]`
const DIRECTORY = join('test', 'fuzz')
/** No more inputs than these are kept for a target. */
const MOST_KEPT = 60

const options = chosen()
if (!existsSync(DIRECTORY))
  refuse(`there is no ${DIRECTORY} here: start it in the directory of the package`)

let found = false
for (const name of options.names) found = (await fuzz(name)) || found
process.exit(found ? 1 : 0)

interface Chosen {
  readonly names: readonly string[]
  readonly seconds: number
  readonly seed: number
  readonly keep: boolean
}

function chosen(): Chosen {
  try {
    const { values } = parseArgs({
      options: {
        target: { type: 'string' },
        seconds: { type: 'string', default: '60' },
        seed: { type: 'string', default: String(Date.now() % 0xffff_ffff) },
        keep: { type: 'boolean', default: false },
      },
    })
    const names = values.target === undefined ? Object.keys(TARGETS) : [values.target]
    const [seconds, seed] = [Number(values.seconds), Number(values.seed)]
    const known = names.every((name) => Object.hasOwn(TARGETS, name))
    if (known && seconds > 0 && Number.isInteger(seed)) {
      return { names, seconds, seed, keep: values.keep }
    }
  } catch {
    // An option that there is not.
  }
  return refuse(USAGE)
}

function refuse(why: string): never {
  console.error(why)
  process.exit(2)
}

/** Fuzzes one target for the time given; true if there is a finding. */
async function fuzz(name: string): Promise<boolean> {
  const { seconds, seed, keep } = options
  const loading = TARGETS[name]!
  const coverage = new Coverage(loading.files.map((file) => `/src/${file}.js`))
  const target = await loading.load()
  const fuzzer = new Fuzzer(target, coverage, new Random(seed))
  console.log(`${name}: seed ${seed}, ${seconds} s`)
  const cases = readCases(join(DIRECTORY, 'cases')).filter((each) => each.target === name)
  const inputs = [...target.seeds, ...readCorpus(join(DIRECTORY, 'corpus'), name)]
  const begun = performance.now()
  const end = begun + seconds * 1000
  let next = begun + 10_000
  const mayGoOn = (): boolean => {
    const now = performance.now()
    if (now >= next) {
      next = now + 10_000
      console.log(line(name, fuzzer.progress, now - begun))
    }
    return now < end
  }
  const finding =
    (await fuzzer.begin([...inputs, ...cases.map(({ input }) => input)])) ??
    (await fuzzer.run(mayGoOn))
  coverage.close()
  const unseen = coverage.unseen()
  if (unseen.length > 0) refuse(`${name}: no place of ${unseen.join(', ')} was reached`)
  console.log(line(name, fuzzer.progress, performance.now() - begun))
  if (finding !== undefined) {
    const file = writeCase(join(DIRECTORY, 'cases'), { target: name, ...finding })
    console.log(`${name}: FOUND ${finding.said}\n  ${JSON.stringify(finding.input)}\n  ${file}`)
    return true
  }
  if (keep) writeCorpus(join(DIRECTORY, 'corpus'), name, fuzzer.essence(MOST_KEPT))
  return false
}

function line(name: string, progress: Progress, ms: number): string {
  const { executions, compared, corpus, reached, places } = progress
  const rate = Math.round(executions / (ms / 1000))
  return (
    `${name}: ${Math.round(ms / 1000)} s, ${executions} executions (${rate}/s), ${compared} compared, ` +
    `${corpus} inputs, ${reached} of ${places} places reached`
  )
}
