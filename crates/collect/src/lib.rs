//! Starts a program under the collectors and writes its recording
