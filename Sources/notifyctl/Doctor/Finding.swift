/// A problem that `doctor` has found, and how to repair it.
struct Finding {
    /// The description of the problem: one line without a final period.
    var problem: String
    /// The command or action that repairs the problem; `nil` if `problem` names it, or if none is known.
    var repair: String?

    var text: String {
        "problem: \(problem)\n" + (repair.map { "  repair: \($0)\n" } ?? "")
    }
}
