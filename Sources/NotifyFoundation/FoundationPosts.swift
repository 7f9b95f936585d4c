import Foundation

/// The notifications that Foundation posts of its own accord, which it knows only its own default center for.
enum FoundationPosts {
    /// Not every name: Foundation's center cannot hand its typed messages to an observer of every name, and traps.
    private static let names: [NSNotification.Name] = [
        .NSFileHandleConnectionAccepted, .NSFileHandleDataAvailable, .NSFileHandleReadToEndOfFileCompletion,
        .NSSystemTimeZoneDidChange, .NSThreadWillExit, .NSCalendarDayChanged,
        FileHandle.readCompletionNotification, NSLocale.currentLocaleDidChangeNotification,
        Port.didBecomeInvalidNotification, Process.didTerminateNotification, UserDefaults.didChangeNotification,
        NSNotification.Name("NSURLCredentialStorageChangedNotification"),
    ]

    /// Posts them to this center as well, for good.
    static func forward(to center: CompatibleNotificationCenter) {
        for name in names {
            // The token is not needed: the block stays until it is removed.
            _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { center.post($0) }
        }
    }
}
