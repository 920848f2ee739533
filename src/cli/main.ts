#!/usr/bin/env node
// First, because loading the rest already makes the heap grow.
// oxlint-disable-next-line import/no-unassigned-import -- it only has to run, and first
import './settle-memory.ts'
import { fileURLToPath } from 'node:url'
import { runScript } from './cached-scripts.ts'

runScript(fileURLToPath(new URL('squall.js', import.meta.url)))
