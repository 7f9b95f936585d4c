/// The codes that an error frame carries. A code is never reused for another meaning.
package enum ErrorCode: UInt16, CaseIterable, Sendable {
    // Protocol errors. All except `unknownFrame` close the connection.
    case malformedFrame = 1
    case frameTooLarge = 2
    case unknownFrame = 3
    case unsupportedVersion = 4
    case greetingExpected = 5
    case greetingTimeout = 6

    // Invalid requests.
    case invalidName = 20
    case invalidPattern = 21
    case invalidObject = 22
    case invalidHeaders = 23
    case invalidSubscriptionName = 24
    case invalidArgument = 25
    case payloadTooLarge = 26
    case unsupported = 27

    // Rights and limits.
    case forbidden = 40
    case limitReached = 41
    case postWindowExceeded = 42

    // Subscriptions.
    case unknownSubscription = 60
    case subscriptionInUse = 61
    case subscriptionMismatch = 62
    case subscriptionHeld = 63
    case takenOver = 64
    case notDelivered = 65
    case subscriptionChanged = 66

    // The log.
    case logFull = 80
    case storageFailed = 81
    case unknownMessage = 82
    case logDamaged = 83

    // The daemon.
    case closing = 100
    case tooSlow = 101
    case configurationInvalid = 102

    // Requests to servers.
    case noResponders = 120
    case serverGone = 121
    case timedOut = 122
    case requestFailed = 123
    case serviceHeld = 124
    case requestCancelled = 125
    case unknownCall = 126

    // Values.
    case valueChanged = 140
    case valueInUse = 141
}
