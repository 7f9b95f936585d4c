// Measures the cost of a post in the core of a center for growing numbers of names.
//
//   names [NAMES ...]            Prints a table of times, beside the same look-ups in a dictionary.
//   names CASE NAMES POSTS       Posts without measuring, for tools that count instructions.
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if let workload = Workload.all.first(where: { $0.title == arguments.first }) {
    guard arguments.count == 3, let count = Int(arguments[1]), let posts = Int(arguments[2]) else {
        fatalError("expected: \(workload.title) NAMES POSTS")
    }
    workload.prepare(Names(count))(posts)
} else {
    let counts = arguments.compactMap { Int($0) }
    guard counts.count == arguments.count else {
        fatalError("cases: " + Workload.all.map(\.title).joined(separator: ", "))
    }
    printTable(counts: counts.isEmpty ? [1_000, 10_000, 16_384, 100_000, 1_000_000] : counts)
}
