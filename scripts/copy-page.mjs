// Puts the files of the admin page beside the built code that serves them: tsc copies no such files.
import { cp } from 'node:fs/promises'

const from = new URL('../src/admin/page/', import.meta.url)
const to = new URL('../dist/admin/page/', import.meta.url)
await cp(from, to, { recursive: true })
