import { setFlagsFromString } from 'node:v8'

/**
 * V8 guesses from the first requests that what an exchange allocates lives long, and from then on
 * fills the old generation with it: a tenth of the process's time goes to moving garbage. The guess is
 * turned off before anything is loaded that it could be made of.
 */
setFlagsFromString('--no-allocation-site-pretenuring')
