// For --require: writes to the file that WATCHED names which files of the program V8 had to compile, and which
// flags it was given, one a line.
'use strict'
const { appendFileSync } = require('node:fs')
const path = require('node:path')
const v8 = require('node:v8')
const onScript = require('./on-script.cjs')

const note = (/** @type {string} */ what) => appendFileSync(process.env.WATCHED ?? '', `${what}\n`)

onScript(({ cachedDataRejected }, filename) => {
  const how = { true: 'refused', false: 'taken', undefined: 'none' }
  note(`cache ${how[`${cachedDataRejected}`]} ${path.basename(filename)}`)
})

const { setFlagsFromString } = v8
v8.setFlagsFromString = (flag) => {
  note(`flag ${flag}`)
  setFlagsFromString(flag)
}
