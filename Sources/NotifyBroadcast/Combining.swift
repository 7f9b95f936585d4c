/// Sets how the results of the receivers are combined into the result of a broadcast.
///
/// ```swift
/// @Combined(.collect) func titles() -> [String]
/// @Combined(.first) func color(of item: Int) -> String?
/// ```
@attached(peer)
public macro Combined(_ rule: CombinationRule) = #externalMacro(module: "NotifyMacros", type: "CombinedMacro")

/// Sets how the results of the receivers are combined into the result of a broadcast.
///
/// ```swift
/// @Combined(.first(or: 44)) func height() -> Int
/// @Combined(.reduce(true) { $0 && $1 }) func mayClose() -> Bool
/// ```
@attached(peer)
public macro Combined<Answer>(_ rule: AnswerCombinationRule<Answer>) =
    #externalMacro(module: "NotifyMacros", type: "CombinedMacro")

/// A combination rule without a value of the result's type, such as `.collect`.
///
/// In a method that throws, `.collect` calls all receivers and then throws if any of them threw. With `.first`, a
/// receiver that throws is skipped. Its error is thrown only if no receiver returns a result other than nil.
public enum CombinationRule: Sendable {
    /// Calls all receivers and joins their arrays in order. Without receivers the result is empty.
    case collect
    /// Returns the first result that is not nil, without calling the remaining receivers, or nil if there is none.
    case first
}

/// A combination rule with a value of the result's type, such as `.first(or: 44)`.
public struct AnswerCombinationRule<Answer> {
    private init() {}

    /// Returns the first result (the first that is not nil, if results are optional), without calling the remaining
    /// receivers.
    ///
    /// - Parameter answer: The result if no receiver returns one.
    public static func first(or answer: Answer) -> AnswerCombinationRule { AnswerCombinationRule() }

    /// Calls all receivers and combines their results in order.
    ///
    /// - Parameters:
    ///   - initial: The initial value, and the result without receivers.
    ///   - combine: Combines the value so far with the next result.
    public static func reduce(
        _ initial: Answer, _ combine: (Answer, Answer) -> Answer
    ) -> AnswerCombinationRule { AnswerCombinationRule() }
}
