// set-repository.mjs OWNER/NAME writes the address of the repository into every file that names it:
// package.json, the chart, the alerts, the image, the manifest for krew and the docs.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const [name = '', ...more] = process.argv.slice(2)
if (!/^[A-Za-z0-9][A-Za-z0-9-]{0,38}\/[A-Za-z0-9._-]{1,100}$/.test(name) || more.length > 0) {
  process.stderr.write('usage: node scripts/set-repository.mjs OWNER/NAME\n')
  process.exit(2)
}
const { homepage } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'))
const old = homepage.replace('https://', '')
const next = `github.com/${name}`
const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
// The script itself names no repository.
const files = git('grep', '-lF', old).trim().split('\n')
const ends = new RegExp(`${old.replaceAll('.', String.raw`\.`)}(?![\\w-])`, 'g')
for (const file of files) {
  const text = readFileSync(`${ROOT}${file}`, 'utf8')
  writeFileSync(`${ROOT}${file}`, text.replaceAll(ends, next))
  process.stdout.write(`${file}\n`)
}
process.stdout.write(`${files.length} files name ${next}; now run npm run generate\n`)
