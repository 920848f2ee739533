// The door for tests of commands: in this process or as a program, their output, and what people see
// of it in a terminal or a browser. `commands/command-line.ts` is apart: it loads every command.

/** Squall in this process, from flags. */
export { type RuledSquall, type Squall, startSquall } from './commands/squall.ts'

/** The program, or a command in this process. */
export {
  type Finished,
  type LogLine,
  type Program,
  portOf,
  startProgram,
} from './commands/program.ts'

/** Commands between a client and a server of stdio. */
export {
  FIXTURE_COMMAND,
  type StdioClient,
  isAlive,
  rulesFile,
  stdioClient,
  throughSquall,
  timesOfCalls,
} from './commands/stdio-client.ts'

/** Screens. */
export { type Terminal, startTerminal } from './commands/terminal.ts'
export { type Browser, type BrowserPage, startBrowser } from './commands/browser.ts'
