// Compares LocalCenter and CompatibleNotificationCenter with Foundation's NotificationCenter on the same work, and
// fails if a ratio is not as required.
//
//   compare [ROUNDS [TEXT]]: with TEXT, runs only the cases whose titles contain it. With 0 rounds, does the work of
//   each case once, and checks no ratio.
import Foundation

let arguments = CommandLine.arguments.dropFirst()
let rounds = arguments.first.flatMap { Int($0) } ?? 21
let text = arguments.dropFirst().first
var load = [Double](repeating: 0, count: 3)
getloadavg(&load, 3)
print("Nanoseconds per operation, in \(rounds) rounds; the load average of the last minute is \(load[0]).\n")

Case.printTitles()
let cases =
    postingCases(churn: 0) + postingCases(churn: 60_000) + compatibleCases() + registeringCases() + growingCases()
    + threadCases()
var missed = 0
for scene in cases where text.map({ scene.title.contains($0) }) ?? true {
    if try !scene.run(rounds: rounds) { missed += 1 }
}
if missed > 0, rounds > 0 {
    print("\n\(missed) not as required")
    exit(1)
}
