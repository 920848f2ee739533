import { setFlagsFromString } from 'node:v8'

/**
 * V8 guesses from the first requests that what an exchange allocates lives long, and from then on
 * fills the old generation with it: a tenth of the process's time goes to moving garbage. The guess is
 * turned off before anything is loaded that it could be made of.
 */
setFlagsFromString('--no-allocation-site-pretenuring')

/**
 * The old generation may grow to several times its size before V8 looks for garbage in it, however
 * small it is: here 20 MiB and more, held for good. By this a small one is collected when it has grown
 * by 8 MiB, the least that V8 has, and a large one by a half. It is done beside the program, with
 * pauses of 2 to 5 ms, once in some hundred thousand calls.
 */
setFlagsFromString('--heap-growing-percent=50')
