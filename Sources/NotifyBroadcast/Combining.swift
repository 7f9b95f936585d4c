/// Says how the results of the receivers become the result of a broadcast.
///
/// ```swift
/// @Combined(.collect) func titles() -> [String]
/// @Combined(.first) func color(of item: Int) -> String?
/// ```
@attached(peer)
public macro Combined(_ rule: CombinationRule) = #externalMacro(module: "NotifyMacros", type: "CombinedMacro")

/// Says how the results of the receivers become the result of a broadcast.
///
/// ```swift
/// @Combined(.first(or: 44)) func height() -> Int
/// @Combined(.reduce(true) { $0 && $1 }) func mayClose() -> Bool
/// ```
@attached(peer)
public macro Combined<Answer>(_ rule: AnswerCombinationRule<Answer>) =
    #externalMacro(module: "NotifyMacros", type: "CombinedMacro")

/// Ways to combine results that need no value of the result's type.
///
/// If a method throws as well, with `.collect` all receivers are called, and if one threw the call throws. With `.first` a
/// receiver that throws has not answered: the next is asked, and the errors are thrown only if nobody answers.
public enum CombinationRule: Sendable {
    /// All are called. The arrays that they give are joined, in order; without receivers the result is empty.
    case collect
    /// The first answer that is not nil, in order. Those after it are not asked. Without one the result is nil.
    case first
}

/// Ways to combine results that begin with a value of the result's type.
public struct AnswerCombinationRule<Answer> {
    private init() {}

    /// The answer of the first receiver (if the result is optional: the first that is not nil). Those after it are not
    /// asked.
    ///
    /// - Parameter answer: The result if nobody answers.
    public static func first(or answer: Answer) -> AnswerCombinationRule { AnswerCombinationRule() }

    /// All are called, and their answers combined, in order.
    ///
    /// - Parameters:
    ///   - initial: What it starts with, and the result without receivers.
    ///   - combine: Makes one answer of what was combined so far and the next.
    public static func reduce(
        _ initial: Answer, _ combine: (Answer, Answer) -> Answer
    ) -> AnswerCombinationRule { AnswerCombinationRule() }
}
