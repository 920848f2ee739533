#!/usr/bin/env node
// First, because loading the rest already makes the heap grow.
// oxlint-disable-next-line import/no-unassigned-import -- it only has to run, and first
import './settle-memory.ts'
import { runProgram } from './squall.ts'

runProgram()
