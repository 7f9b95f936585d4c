/// A problem that `doctor` has found, and how to repair it.
struct Finding {
    /// One line without a final period.
    var problem: String
    /// The command or action that repairs it; `nil` if the problem names it.
    var repair: String?

    var text: String {
        "problem: \(problem)\n" + (repair.map { "  repair: \($0)\n" } ?? "")
    }
}
